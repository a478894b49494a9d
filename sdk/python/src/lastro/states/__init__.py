"""Working memory without I/O: names, bodies, writes, copies, answers; both clients are shells of it (SD-2 to SD-5)."""

"""The six kinds of run for which sizes were published elsewhere: ours have their size and shape, other content."""

from typing import Any

from runtime_graphs import World, at

from scenarios import Scenario


def drive_file(number: int, title: str, **members: Any) -> dict[str, Any]:
    """Give a file as a drive's API lists it."""
    return {
        "id": f"1Qk{number}vTzR8mPw4LdXs",
        "name": title,
        "mimeType": "application/vnd.google-apps.document",
        "modifiedTime": f"2026-02-{10 + number}T08:{20 + number}:00.000Z",
        "owners": [{"displayName": "Rita Moura", "emailAddress": "rita@quarry.example"}],
        "webViewLink": f"https://docs.example/d/1Qk{number}vTzR8mPw4LdXs/edit",
        "starred": False,
        "trashed": False,
        "capabilities": {"canEdit": number % 2 == 0, "canComment": True, "canShare": False},
        **members,
    }


def deferred_picker() -> Scenario:
    """A picker was opened and the run waits: which call, which of the listed contracts, and what comes "
    "next."""
    world = World()
    world.says("m1", "Find the Quarry lease and fill in the renewal form.")
    world.call("call-1", "drive.search", arguments={"query": "Quarry lease", "pageSize": 10})
    files = [drive_file(n, title) for n, title in enumerate(_LEASES)]
    world.artifact(
        "a1", tool="drive.search", call="call-1", result={"kind": "drive#fileList", "files": files}
    )
    world.memory(
        "mem-1", "8 Quarry leases; fitting: 2024 signed, 2026 draft", tool="drive.search", artifacts=["a1"]
    )
    world.call("call-2", "drive.picker", arguments={"title": "Which lease?", "multiselect": False})
    world.artifact(
        "a2",
        tool="drive.picker",
        call="call-2",
        status="deferred",
        retry={"tool": "drive.picker", "needs": "a chosen file, then form.fill"},
    )
    world.says("m2", "Please pick one.", role="assistant")
    world.says("m3", "Is it still waiting for me?")
    return Scenario(
        "deferred document picker",
        world,
        {"answers": "m3"},
        facts=[
            "call-2",
            "drive.picker",
            "deferred",
            "a chosen file, then form.fill",
            "2026 draft",
            "2024 signed",
        ],
        absent=["emailAddress"],
        reference=(1_020, 142),
    )


_LEASES = (
    "Quarry lease 2022 (expired)",
    "Quarry lease 2024 signed",
    "Quarry lease 2026 draft",
    "Quarry lease annex B, access road",
    "Quarry lease correspondence",
    "Quarry lease annex A, plots",
    "Quarry lease renewal 2024, notes",
)


def file_generation() -> Scenario:
    """Several tools made a report: what exists, where, from which figures, with which checksum."""
    world = World()
    world.says("m1", "Make the February haulage report as a spreadsheet and a PDF.")
    world.call(
        "call-1", "erp.query", arguments={"table": "haulage", "month": "2026-02", "columns": list(_COLUMNS)}
    )
    world.artifact(
        "a1",
        tool="erp.query",
        call="call-1",
        result={"rows": _haulage(), "totals": _totals(), "truncated": False},
    )
    totals = _totals()
    says = f"February: 16 trips, {totals['tonnes']} t, cost {totals['cost_eur']} EUR"
    world.memory("mem-1", says, tool="erp.query", artifacts=["a1"])
    world.call(
        "call-2", "python.run", arguments={"code": _PIVOT, "timeout_seconds": 60, "files": ["haulage.json"]}
    )
    world.artifact(
        "a2", tool="python.run", call="call-2", result={"stdout": _STDOUT, "stderr": "", "exit": 0}
    )
    world.call("call-3", "sheet.create", arguments={"title": "Haulage 2026-02", "source": "pivot.csv"})
    world.artifact("a3", tool="sheet.create", call="call-3", result=_made("file_8c1", "haulage-2026-02.xlsx"))
    world.memory(
        "mem-2",
        "haulage-2026-02.xlsx = file_8c1",
        tool="sheet.create",
        artifacts=["a3"],
        context="provenance",
    )
    world.call("call-4", "pdf.render", arguments={"source": "file_8c1", "paper": "A4", "template": "house"})
    world.artifact("a4", tool="pdf.render", call="call-4", result=_made("file_9d4", "haulage-2026-02.pdf"))
    world.memory(
        "mem-3", "haulage-2026-02.pdf = file_9d4", tool="pdf.render", artifacts=["a4"], context="provenance"
    )
    world.says("m2", "Both files are ready.", role="assistant")
    world.says("m3", "Mail the PDF to Bento with the total cost.")
    return Scenario(
        "multi-tool file generation",
        world,
        {"answers": "m3"},
        facts=[
            "file_8c1",
            "file_9d4",
            "haulage-2026-02.xlsx",
            "haulage-2026-02.pdf",
            str(totals["cost_eur"]),
            str(totals["tonnes"]),
        ],
        absent=["checksums"],
        reference=(1_905, 221),
    )


_COLUMNS = ("trip", "date", "truck", "driver", "from", "to", "tonnes", "cost_eur")
_PIVOT = (
    "import json, csv\nrows = json.load(open('haulage.json'))['rows']\n"
    "totals = {}\nfor row in rows:\n    key = (row['truck'], row['to'])\n"
    "    trips, tonnes, cost = totals.get(key, (0, 0.0, 0.0))\n"
    "    totals[key] = (trips + 1, tonnes + row['tonnes'], cost + row['cost_eur'])\n"
    "with open('pivot.csv', 'w') as out:\n    writer = csv.writer(out)\n"
    "    writer.writerow(['truck', 'to', 'trips', 'tonnes', 'cost'])\n"
    "    for (truck, to), figures in sorted(totals.items()):\n        writer.writerow([truck, to, "
    "*figures])\n"
)
_STDOUT = (
    "read 16 rows from haulage.json\nwrote pivot.csv: 6 rows\n"
    "truck  to        trips  tonnes  cost\nT-07   Harbour   3      66.1    3991.10\n"
    "T-07   Plant 2   2      44.9    2702.80\nT-11   Harbour   3      67.2    4044.00\n"
    "T-11   Depot     2      43.8    2617.70\nT-19   Plant 2   2      45.0    2731.30\n"
    "T-19   Harbour   2      44.4    2647.30\n"
)


def _haulage() -> list[dict[str, Any]]:
    trucks = ("T-07", "T-11", "T-19")
    drivers = ("Joao Serra", "Ines Pinto", "Rui Falcao")
    places = ("Harbour", "Plant 2", "Depot")
    return [
        {
            "trip": f"H-26{day:03d}",
            "date": f"2026-02-{day:02d}",
            "truck": trucks[day % 3],
            "driver": drivers[day % 3],
            "from": "Quarry North",
            "to": places[day % 3 - 1],
            "tonnes": round(21.3 + day % 5 * 0.4, 1),
            "cost_eur": round(1291.5 + day % 7 * 11.3, 2),
        }
        for day in range(2, 18)
    ]


def _totals() -> dict[str, float]:
    rows = _haulage()
    return {
        "tonnes": round(sum(row["tonnes"] for row in rows), 1),
        "cost_eur": round(sum(row["cost_eur"] for row in rows), 2),
    }


def _made(id: str, name: str) -> dict[str, Any]:
    return {
        "file": {
            "id": id,
            "name": name,
            "bytes": 48_213,
            "storage": f"s3://reports-eu/2026/02/{id}/{name}",
            "checksums": {
                "md5": "5f1d7a84db00d2fce00b31a7fc73224f",
                "sha256": "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab",
            },
            "created": "2026-03-02T09:14:07Z",
            "links": {
                "preview": f"https://files.example/p/{id}",
                "download": f"https://files.example/d/{id}",
            },
        },
        "warnings": [],
        "took_ms": 1_873,
    }


def stale_memory() -> Scenario:
    """What a connected application said hours ago is no present fact: a marker, and how to ask again."""
    world = World()
    world.says("m1", "New in #support? Is Dora free at 15:00?")
    world.call("call-1", "slack.unread", arguments={"channel": "C04SUPPORT", "limit": 9})
    world.artifact("a1", tool="slack.unread", call="call-1", result=_channel())
    world.memory(
        "mem-1",
        "9 unread in #support, pump alarms on top",
        tool="slack.unread",
        artifacts=["a1"],
        about="unread in #support",
        freshness="volatile",
        stale_after=at(20),
    )
    world.memory(
        "mem-2",
        "Thread 1772441.0003: pump 4 alarm unsolved, owner Nuno",
        tool="slack.unread",
        artifacts=["a1"],
        about="thread 1772441.0003",
        freshness="bounded",
        stale_after=at(60),
        revalidate_with=["slack.thread"],
    )
    world.call("call-2", "calendar.free_busy", arguments={"people": ["dora"], "day": "2026-03-02"})
    busy = [
        {"start": f"2026-03-02T{h:02d}:00:00Z", "end": f"2026-03-02T{h:02d}:45:00Z"} for h in (9, 11, 13, 16)
    ]
    world.artifact(
        "a2", tool="calendar.free_busy", call="call-2", result={"calendars": {"dora": {"busy": busy}}}
    )
    world.memory(
        "mem-3",
        "Dora is free at 15:00",
        tool="calendar.free_busy",
        artifacts=["a2"],
        about="Dora's calendar",
        freshness="bounded",
        stale_after=at(90),
        revalidate_with=["calendar.free_busy"],
    )
    world.call("call-3", "calendar.event", arguments={"start": "2026-03-02T15:00:00Z", "dry_run": True})
    world.artifact("a3", tool="calendar.event", call="call-3", result={"dry_run": True, "conflicts": []})
    world.says("m2", "9 unread; Dora is free.", role="assistant")
    world.minute = 600
    world.says("m3", "Is the pump solved, can Dora join?")
    return Scenario(
        "stale connected-app memory",
        world,
        {"answers": "m3"},
        facts=["1772441.0003", "calendar.free_busy", "Is the pump solved"],
        marks=["stale mem-2", "stale mem-3", "slack.thread", "Dora's calendar"],
        absent=["owner Nuno", "Dora is free at"],
        reference=(1_051, 145),
        outcomes={"mem-1": "stale", "mem-2": "stale_marker", "mem-3": "stale_marker"},
    )


def _channel() -> dict[str, Any]:
    said = (
        "Pump 4 alarm again, third time today",
        "Resetting from the panel did nothing",
        "Who has the key of cabinet B?",
        "Nuno takes it, on site at 10:30",
        "Customer 4471 asks for the delivery note",
        "Sent, see ticket 9120",
        "Gate camera offline since 07:50",
        "IT restarts the switch at noon",
        "Weighbridge prints double again",
    )
    return {
        "ok": True,
        "channel": "C04SUPPORT",
        "messages": [
            {
                "type": "message",
                "user": f"U0{number}RKQ8T",
                "text": text,
                "ts": f"1772441.{number:04d}",
                "client_msg_id": f"7f3a{number}c1e-52b0-4d7a-9a30-1c9be04d7{number}aa",
                "team": "T02QUARRY",
                "reactions": [{"name": "eyes", "count": number % 3 + 1}],
            }
            for number, text in enumerate(said)
        ],
        "has_more": True,
        "unread_count": 9,
    }


def skills() -> Scenario:
    """Four skills were loaded: which, and what they brought about; their texts are the loader's to "
    "bring again."""
    world = World()
    world.says("m1", "Check invoice 2231 and draft a reply in Portuguese.")
    for number, (name, text) in enumerate(_SKILLS.items(), start=1):
        world.call(f"call-{number}", "skill.load", arguments={"name": name})
        world.artifact(f"a{number}", tool="skill.load", call=f"call-{number}", result=_loaded(name, text))
    world.add(
        "skill_state",
        "skills-1",
        participant="lead",
        run="run-1",
        skills=[{"name": name} for name in _SKILLS],
    )
    world.call("call-5", "erp.invoice", arguments={"number": 2231})
    world.artifact("a5", tool="erp.invoice", call="call-5", result=_INVOICE)
    world.memory(
        "mem-1",
        "Invoice 2231: total 1204.6, VAT 23 % charged, 6 % due",
        tool="erp.invoice",
        artifacts=["a5"],
    )
    world.says("m2", "The VAT rate is wrong.", role="assistant")
    world.says("m3", "Draft it then.")
    return Scenario(
        "several skills loaded",
        world,
        {"answers": "m3", "run": "run-2", "skills": ("invoice-check", "reply-pt", "erp-read", "tone")},
        facts=[
            "invoice-check",
            "reply-pt",
            "erp-read",
            "tone",
            "invoice 2231",
            "1204.6",
            "in Portuguese",
            "VAT rate is wrong",
        ],
        absent=["Never promise a date"],
        reference=(1_008, 179),
        outcomes={"skills-1": "skill", "a1": "not_needed_raw"},
    )


def _loaded(name: str, text: str) -> dict[str, Any]:
    tools = [f"{name}.check", f"{name}.example"]
    return {"skill": name, "version": "2.1.0", "tools": tools, "scope": "conversation", "text": text}


_SKILLS = {
    "invoice-check": (
        "# Checking an invoice\n1. Read the invoice by its number, never by its customer's name.\n"
        "   If there are two of that number, take the one of this year and say so.\n"
        "2. Add the lines up yourself and compare with the net total; a difference of more than one cent "
        "is an error.\n"
        "3. Compare the VAT rate of each line with the article's class: aggregates and stone 23 %, "
        "transport within "
        "the district 6 %, islands by their own table.\n4. Check the tax number with its check digit.\n"
        "5. Look for the same lines in the thirty days before: doubles are the most frequent error.\n"
        "6. Look at the due date: thirty days for companies, fourteen for persons, none for cash.\n"
        "7. Say what is wrong, by line, with the amount that it changes; correct nothing on your own. "
        "What is right "
        "needs no words. Where two lines are wrong for one reason, say the reason once."
    ),
    "reply-pt": (
        "# Replies in Portuguese\nWrite European Portuguese. Address a company in the third person, a "
        "person by "
        "their first name only where they did so first. Name the document in the first sentence. One "
        "matter a "
        "paragraph. Amounts with a comma for decimals and the currency behind them. Dates as day, month "
        "in words, "
        "year. Close with the team's name, not a person's. Attach nothing that was not asked for; say "
        "which document "
        "follows and from whom. Where a correction is ours, say so plainly in the first paragraph. Quote "
        "no law by its "
        "number unless the accounts gave it. Numbers of documents stand without dots. A reply that asks "
        "for something "
        "ends with the one thing that is asked, and by when it is needed."
    ),
    "erp-read": (
        "# Reading the ERP\nAsk for one document at a time. Numbers are unique in a year, so name the "
        "year where it is "
        "not this one. A status `sent` may still be corrected by a credit note, `booked` only by the "
        "accounts. Net, VAT "
        "and total come as decimals, rounded per line, half up. Articles: TR transport, AG aggregates, "
        "ST stone, WT "
        "water. Tax numbers come without the country. A field that is missing is unknown, not zero. "
        "Reads are logged; "
        "ask for no customer that the matter does not name. After three errors in a row stop and tell "
        "the user."
    ),
    "tone": (
        "# Tone\nShort sentences, active verbs, no exclamation marks, no thanks in advance. Say what "
        "happens next and "
        "who does it. Never promise a date that the planning tool did not give. No blame on other "
        "departments. If "
        "the customer is angry, name the matter and not the feeling. Two greetings at most in a thread: "
        "the first "
        "message and the last one. No emoji. Do not repeat the customer's words back to them. If a reply "
        "is longer than "
        "twelve lines, put what matters into the first two. Never write in capitals, never underline."
    ),
}
_INVOICE = {
    "number": 2231,
    "customer": {"id": "C-4471", "name": "Pedra & Filhos Lda", "tax_number": "509442013"},
    "issued": "2026-02-20",
    "due": "2026-03-22",
    "lines": [
        {
            "article": "TR-06",
            "text": "Transport, district",
            "quantity": 14,
            "price": 46.5,
            "vat": 23,
            "net": 651.0,
        },
        {
            "article": "TR-07",
            "text": "Waiting time, hours",
            "quantity": 3,
            "price": 32.0,
            "vat": 23,
            "net": 96.0,
        },
        {
            "article": "TR-06",
            "text": "Transport, district",
            "quantity": 5,
            "price": 46.47,
            "vat": 23,
            "net": 232.35,
        },
    ],
    "net": 979.35,
    "vat": 225.25,
    "total": 1204.6,
    "currency": "EUR",
    "status": "sent",
}


def participants() -> Scenario:
    """Two models answered the same question: one sees what the other said, not what it looked up in "
    "private."""
    world = World()
    world.add("model_run", "run-o", route="openai", model="n", participant="other")
    world.says("m1", "Which crusher should we buy, K-80 or R-12?")
    world.call("call-1", "web.search", arguments={"query": "K-80 crusher throughput"})
    world.artifact(
        "a1", tool="web.search", call="call-1", result=_hits("K-80", "throughput 82 t/h, price 410 kEUR")
    )
    world.memory("mem-1", "K-80: 82 t/h, 410 kEUR", tool="web.search", artifacts=["a1"])
    mine = {"participant": "other", "run": "run-o"}
    world.call("call-2", "mail.search", arguments={"query": "R-12 offer"}, **mine)
    world.artifact("a2", tool="mail.search", call="call-2", result=_mails(), privacy="oauth", **mine)
    world.memory(
        "mem-2", "R-12 private offer 388 kEUR", tool="mail.search", artifacts=["a2"], privacy="oauth", **mine
    )
    world.says("m2", "K-80, for its throughput.", role="assistant")
    world.says("m3", "R-12: cheaper to maintain.", role="assistant", **mine)
    world.says("m4", "Answer the other's point.")
    return Scenario(
        "participant visibility",
        world,
        {"answers": "m4", "kind": "multi_model"},
        facts=["82 t/h", "410 kEUR", "K-80, for its throughput.", "R-12: cheaper to maintain."],
        marks=["Other: R-12"],
        absent=["388", "private offer", "Comercial"],
        reference=(961, 161),
        outcomes={"mem-2": "not_visible", "a2": "not_visible", "m3": "message"},
    )


def _hits(model: str, says: str) -> dict[str, Any]:
    pages = ("maker's data sheet", "dealer, offers", "forum of quarries", "test in a trade paper")
    return {
        "query": f"{model} crusher",
        "results": [
            {
                "rank": number + 1,
                "title": f"{model}: {page}",
                "url": f"https://site{number}.example/crushers/{model.lower()}/{number}",
                "snippet": f"... the {model} reaches a {says} with a feed of up to 700 mm, in test "
                "{number + 1} of "
                "four, at a closed side setting of 60 mm and with granite; wear parts last 900 hours ...",
                "published": f"2025-1{number % 3}-0{number + 1}",
                "score": round(0.93 - number * 0.07, 2),
            }
            for number, page in enumerate(pages)
        ],
    }


def _mails() -> dict[str, Any]:
    return {
        "messages": [
            {
                "id": f"18c4f{number}a7b2e",
                "threadId": "18c4f0a7b2e",
                "from": "Comercial <sales@crushers.example>",
                "to": "buyer@quarry.example",
                "date": f"Thu, {19 + number} Feb 2026 10:0{number}:00 +0000",
                "subject": "Offer R-12, conditions for you only",
                "snippet": f"Dear all, as agreed our price for the R-12 is 388 kEUR, variant {number}, "
                "delivery in "
                "twelve weeks, payment in three parts; please do not pass this on ...",
            }
            for number in range(4)
        ],
        "resultSizeEstimate": 4,
    }


def contradiction() -> Scenario:
    """Two drafts disagree and stay both, marked; a corrected figure replaces the first one."""
    world = World()
    world.says("m1", "How many staff does the permit allow, and how deep may we dig?")
    for number, (tool, clauses) in enumerate(_PERMITS, start=1):
        world.call(f"call-{number}", tool, arguments={"document": f"permit-{number}", "pages": "1-4"})
        world.artifact(f"a{number}", tool=tool, call=f"call-{number}", result=_permit(number, clauses))
    sure = {"source": "extractor", "reason": "one clause"}
    world.memory("mem-1", "Depth: 24 m (permit-1, 4.2)", tool="pdf.read", artifacts=["a1"])
    world.memory(
        "mem-2",
        "Staff: 38 (permit-1, 7.1)",
        tool="pdf.read",
        artifacts=["a1"],
        confidence={"value": 0.8, **sure},
    )
    world.memory(
        "mem-3",
        "Staff: 42 (permit-2, 7.1)",
        tool="ocr.read",
        artifacts=["a2"],
        confidence={"value": 0.6, **sure},
        conflicts_with=["mem-2"],
    )
    world.memory(
        "mem-4", "Depth: 31 m (permit-3 amends 4.2)", tool="pdf.read", artifacts=["a3"], supersedes=["mem-1"]
    )
    world.says("m2", "38 or 42 staff: the drafts differ.", role="assistant")
    world.says("m3", "Which depth holds, and is the staff question open?")
    return Scenario(
        "contradiction and supersession",
        world,
        {"answers": "m3"},
        facts=["31 m", "38", "42", "permit-1", "permit-2", "permit-3", "7.1"],
        marks=["conflicts_with", "0.8", "0.6"],
        absent=["24 m"],
        reference=(1_986, 197),
        outcomes={"mem-1": "superseded", "mem-2": "memory", "mem-3": "memory", "mem-4": "memory"},
    )


_PERMITS = (
    (
        "pdf.read",
        {"4.2": "The depth of the pit is at most 24 m below the upper edge.", "7.1": "38 persons at a time."},
    ),
    (
        "ocr.read",
        {"4.2": "The depth of the pit is at most 24 m below the upper edge.", "7.1": "42 persons at a time."},
    ),
    (
        "pdf.read",
        {"4.2": "Amended: at most 31 m below the upper edge, in sectors A to C.", "7.1": "Unchanged."},
    ),
)
_CLAUSES = {
    "1.1": "This permit is given for the extraction of granite on the plots named in annex A, and for "
    "nothing else.",
    "1.2": "It is bound to the holder and passes to a successor only with the authority's consent in "
    "writing.",
    "2.1": "Work begins when the security of annex C is deposited, and not before the fences of section "
    "3 stand.",
    "2.4": "The holder reports each quarter the tonnes extracted, by sector, with the survey of the "
    "surveyor.",
    "3.3": "Fences are 2 m high, closed at night, with signs every 50 m on every side that can be walked to.",
    "5.2": "Blasting is allowed on working days from 10 to 12 and from 14 to 16, announced a day before.",
    "5.5": "Vibration at the nearest house stays below 5 mm/s; it is measured at each blast and kept for "
    "five years.",
    "6.1": "Water from the pit is led to the basin and only from there to the stream, at most 12 litres "
    "a second.",
    "8.3": "The slope of finished walls is at most 70 degrees, with a berm of 4 m at every 10 m of height.",
    "3.5": "Lorries leave by the north gate only, wheels washed, from 7 to 19 hours on working days.",
    "6.4": "The basin is emptied of mud twice a year; the mud counts as waste and goes where annex D says.",
    "8.1": "The plan of extraction is drawn anew every year and sent by the end of January.",
    "8.2": "Sectors are opened in the order A, B, C; the next one when two thirds of the one before are dug.",
    "10.2": "Breaches of sections 5 and 6 end the permit thirty days after a warning that was not heeded.",
    "9.1": "Topsoil is stored apart and spread again, within a year after a sector is finished.",
}


def _permit(number: int, clauses: dict[str, str]) -> dict[str, Any]:
    return {
        "document": f"permit-{number}",
        "pages": 4,
        "language": "en",
        "clauses": [
            {"clause": name, "page": place // 4 + 1, "text": text}
            for place, (name, text) in enumerate(sorted({**_CLAUSES, **clauses}.items()))
        ],
        "confidence": 0.97 - number * 0.03,
    }


PUBLISHED = (deferred_picker, file_generation, stale_memory, skills, participants, contradiction)

"""Cases of conversation history, played on the real stores: `python -m lastro.testing cases FOLDER`."""

"""`python -m console.embedded run|demo|chromium`."""

import argparse
import sys

from console.embedded.errors import EmbeddedError, Stopped


def main() -> int:
    """Do what the command line asks, and say in one sentence what cannot be done."""
    arguments = _parser().parse_args()
    try:
        return _perform(arguments)
    except EmbeddedError as error:
        print(f"lastro: {error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        return stopped.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m console.embedded", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="run a command on a PostgreSQL and a Valkey of its own")
    run.add_argument("--badge", default="demo", choices=("demo", "test"), help="test: with a throw-away key")
    run.add_argument("command", nargs="+", help="the command and its arguments, after --")
    demo = actions.add_parser("demo", help="start everything, play a conversation, and stay up")
    demo.add_argument("--once", action="store_true", help="stop after the conversation")
    manage = actions.add_parser("manage", help="run a management command on the demo that is up")
    manage.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="such as: create_workspace acme --name Acme ..."
    )
    actions.add_parser("chromium", help="find a Chromium for the browser tests, or install one")
    keep = actions.add_parser("keep", help="own the services of a run (used by the others)")
    keep.add_argument("services", nargs="*")
    return parser


def _perform(arguments: argparse.Namespace) -> int:
    match arguments.action:
        case "run":
            from console.embedded.run import run

            return run(arguments.command, badge=arguments.badge)
        case "demo":
            from console.embedded.demo import demo

            return demo(once=arguments.once)
        case "manage":
            from console.embedded.manage import manage

            return manage(arguments.arguments)
        case "chromium":
            from console.embedded.chromium import provide

            return provide()
        case _:
            from console.embedded.keeper import keep

            return keep(arguments.services)


if __name__ == "__main__":
    sys.exit(main())

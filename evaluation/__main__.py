"""Where `python -m evaluation` begins."""

from evaluation.commands import app

if __name__ == "__main__":
    app(prog_name="python -m evaluation")

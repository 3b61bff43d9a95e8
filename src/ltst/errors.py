"""The tree of errors: everything ltst raises on purpose, free of HTTP and of the driver.

LtstError
├── NotFound              no such thing for this user (someone else's looks the same)
├── Conflict              the request contradicts what is stored
│   └── ForeignCursor     a cursor of the change feed that this ledger cannot place
├── Invalid               bad input; the sentence says what is accepted
├── Denied                this caller may not do that
└── Unavailable           something outside is missing; trying again may help
    ├── DatabaseUnavailable   nothing was written, unless it is an
    │   └── OutcomeUnknown    the connection broke before the database answered to a write
    └── ModelUnavailable
        └── Unanswered    the user's message is stored, the answer to it is missing
"""


class LtstError(Exception):
    """The root of everything ltst raises on purpose."""


class NotFound(LtstError):
    """No such thing for this user; another user's thing looks exactly the same."""


class Conflict(LtstError):
    """The request contradicts what is already stored."""


class ForeignCursor(Conflict):
    """A cursor of another ledger: of another database, or of one that a restore replaced; `go_on` is a place here."""

    def __init__(self, reason: str, *, go_on: str) -> None:
        """Says why, and where to go on from."""
        super().__init__(f"{reason}. Go on from {go_on} to read what changed since, or from 0 to read everything")
        self.go_on = go_on


class Invalid(LtstError, ValueError):
    """Bad input, refused before anything was written; the message names what is accepted."""


class Denied(LtstError):
    """The caller may not do that."""


class Unavailable(LtstError):
    """Something outside the program is missing or down; trying again may help."""


class DatabaseUnavailable(Unavailable):
    """Postgres cannot be reached, started or used as it is set up."""


class OutcomeUnknown(DatabaseUnavailable):
    """The connection broke after a write was sent and before its answer came: it may have been made or not."""


class ModelUnavailable(Unavailable):
    """A model endpoint cannot be reached or refused the request."""


class Unanswered(ModelUnavailable):
    """The model gave no answer to a message; the message itself is stored, as `message_id` in `chat_id`."""

    def __init__(self, reason: str, *, chat_id: str, message_id: str) -> None:
        """Says why, and which message waits."""
        super().__init__(f"{reason} (the message is stored as {message_id} and has no answer yet)")
        self.chat_id = chat_id
        self.message_id = message_id


def shown(value: object) -> str:
    """Writes a value for an error message, cut short: it may be a megabyte."""
    try:
        written = repr(value)
    except Exception:  # noqa: BLE001 - a caller's own class may do anything; Python writes out no numbers of 5,000 digits
        return f"such a {type(value).__name__}"
    return written if len(written) <= 60 else f"{written[:57]}…"

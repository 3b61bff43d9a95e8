"""Logging: structured, through the standard library, and silent unless asked for."""

import json
import logging
import sys

LOGGER = logging.getLogger("ltst")
LOGGER.addHandler(logging.NullHandler())

PLAIN_FIELDS = frozenset(vars(logging.makeLogRecord({})))


class StructuredFormatter(logging.Formatter):
    """One JSON object a line: time, level, event, and whatever the caller passed as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line for one record."""
        line = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in PLAIN_FIELDS},
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def speak(level: str) -> None:
    """Writes log lines from this level up to standard error; calling it twice does not double them."""
    LOGGER.setLevel(level.upper())
    if not any(isinstance(handler.formatter, StructuredFormatter) for handler in LOGGER.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(StructuredFormatter())
        LOGGER.addHandler(handler)

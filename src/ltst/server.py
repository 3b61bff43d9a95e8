"""The HTTP server for use inside another application: `create(Serving(settings))` returns a FastAPI application."""

from ltst.doors.http.app import Serving, create

__all__ = ["Serving", "create"]

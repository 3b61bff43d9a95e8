"""Memory over HTTP: routes by noun, a thin layer over AsyncMemory."""

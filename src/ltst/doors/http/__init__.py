"""Memory over HTTP: routes by noun, thin over AsyncMemory."""

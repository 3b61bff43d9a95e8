"""What several suites use: servers, data, probes of a database; no tests."""

"""Small things that several suites use, and the tests of ltst.support."""

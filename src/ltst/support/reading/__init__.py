"""Reading: files and texts of several kinds, cut into chunks that respect their structure."""

"""Reading: turns files and texts of several kinds into chunks that respect their structure."""

"""What must survive a crash: segment logs and small transactional state."""

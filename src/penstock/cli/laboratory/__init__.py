"""Commands that run scenarios, papers, sweeps and Spark jobs."""

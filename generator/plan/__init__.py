"""Planning: what a pair's training takes on each accelerator, before it is started on one."""

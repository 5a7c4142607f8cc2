"""The command line, and the only place that prints.

`main` has the table of verbs and the handler of errors. Each verb is a module of its own with a click command: it reads
the options, calls one function of the packages below, and reports. `options` has the options that verbs share; `table`,
`terminal`, `questions`, `progress`, `generate_report` and `kaggle_facts` write for people. Nobody imports it.
"""

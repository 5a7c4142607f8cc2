"""The command line. Only this package prints.

`main` has the table of commands and the error handler. Each command is a module with a click command: it reads
the options, calls one function of another package, and reports. `options` has the options that commands share;
`terminal` formats text for users. No package imports it.
"""

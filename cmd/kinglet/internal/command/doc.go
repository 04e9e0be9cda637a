// Package command is kinglet's command line: flags, the connection that they
// describe, exit codes. Run is the whole program except for signals.
package command

// Package trouble turns errors into the one line that a person at a terminal
// needs: what it is about, what is wrong, and the way out by kubectl and flags. It
// is pure. What kind an error is, and what is wrong, the library decides, as for
// its page and metrics.
package trouble

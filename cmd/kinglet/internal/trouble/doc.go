// Package trouble turns errors into the one line that a person at a terminal
// needs: what it is about, what is wrong, and the way out. It is pure.
package trouble

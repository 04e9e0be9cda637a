// Package screen owns what a person sees: events on stdout, notes on stderr, and on a
// terminal a few rows at the bottom that are drawn again and again. Everything that is
// written while a Screen is open goes through it, so that the two never mix.
package screen

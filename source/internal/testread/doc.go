// Package testread reads sources in tests outside package source: it lists and
// watches them, and checks what they send against the contract of source.Source.
package testread

// Package trouble decides what kind of error an informer, or a command, has met, and
// says in one line what is wrong and what to do about it. It is pure: package status
// makes problems of it, the command explains errors with it.
package trouble

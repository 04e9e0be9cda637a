// Package trouble classifies the errors of informers and of the command, and describes
// in one line what is wrong and what to do about it. It is pure: package status makes
// problems of its results, the command explains errors with them.
package trouble

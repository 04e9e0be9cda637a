// Package kinglettest helps to test programs that use informers.
package kinglettest

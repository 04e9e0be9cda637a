//go:build !race

package testrepeat

const race = false

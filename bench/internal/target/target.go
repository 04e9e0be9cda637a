// Package target says what a benchmark's figures have to be.
package target

import "fmt"

// Target is what a figure has to be: a ratio to the peer's in the same run, or
// kinglet's own figure.
type Target struct {
	// AtMost and AtLeast are kinglet's figure over the peer's; Own is kinglet's
	// figure, at most. Exactly one is not 0, or None is set.
	AtMost, AtLeast, Own float64
	// None: kinglet's own figure is 0, apart from what the runtime adds in the meantime.
	None bool
	// Aim is the ratio hoped for.
	Aim float64
}

func (t Target) String() string {
	switch {
	case t.None:
		return "none"
	case t.AtLeast > 0:
		return fmt.Sprintf("≥ %.4g ×", t.AtLeast)
	case t.Own > 0:
		return fmt.Sprintf("own ≤ %.4g", t.Own)
	case t.Aim > 0:
		return fmt.Sprintf("≤ %s, aim %s", Part(t.AtMost), Part(t.Aim))
	}
	return "≤ " + Part(t.AtMost)
}

// Part writes a ratio as the part of the peer's that it is.
func Part(x float64) string {
	if x >= 1 {
		return fmt.Sprintf("%.3g ×", x)
	}
	return fmt.Sprintf("1/%.3g", 1/x)
}

// Met reports whether kinglet's figure k is what it has to be, the peer's being c.
func (t Target) Met(k, c float64) bool {
	switch {
	case t.None:
		return k < 0.01
	case t.Own > 0:
		return k > 0 && k <= t.Own
	case k == 0 || c == 0:
		return false
	case t.AtLeast > 0:
		return k/c >= t.AtLeast
	}
	return k/c <= t.AtMost
}

// Verdict is "pass" or "SHORT", or nothing if there is nothing to hold k
// against.
func (t Target) Verdict(k, c float64) string {
	switch {
	case t.Met(k, c):
		return "pass"
	case c == 0 && t.Own == 0 && !t.None:
		return ""
	}
	return "SHORT"
}

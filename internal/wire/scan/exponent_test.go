package scan

import "testing"

func TestAnExponentThatCannotBeComputedIsAnError(t *testing.T) {
	for _, text := range []string{"1e2000000000", "1E-2000000000", "7e2147483647", "1e200001", "\n\x0c1e2000000000", "\n\x45" + "1e9000000"} {
		if Exponent([]byte(text)) == nil {
			t.Errorf("%q is parsed", text)
		}
	}
}

func TestOtherExponentsAreNone(t *testing.T) {
	for _, text := range []string{
		"", "1", "100m", "512Mi", "1e5", "1E200000", "1e-200000", "12345678901234567890", "1e", "e1000000000x",
		"Exabytes of it", "1e99999999999999999999", "1e4294967297", // 2^32 + 1 is 1 in 32 bits
	} {
		if err := Exponent([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

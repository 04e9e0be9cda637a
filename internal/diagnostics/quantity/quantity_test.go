package quantity

import (
	"math"
	"testing"
	"time"
)

func TestNumbersAreWordedForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(12345678), "12,345,678"}, {Count(-1234), "-1,234"}, {Count(math.MinInt64), Count(-math.MaxInt64)},
		{Of(1, "object"), "1 object"}, {Of(0, "object"), "0 objects"}, {Of(1000, "object"), "1,000 objects"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(6451), "6.3 KiB"}, {Bytes(1 << 20), "1.0 MiB"}, {Bytes(125829120), "120 MiB"}, {Bytes(1<<30 - 1), "1.0 GiB"},
		{Rate(0), "0"}, {Rate(0.34), "0.3"}, {Rate(12.4), "12"}, {Rate(4100.2), "4,100"},
		{Duration(0), "0s"}, {Duration(math.MinInt64), Duration(-math.MaxInt64)}, {Duration(500 * time.Microsecond), "<1ms"}, {Duration(250 * time.Millisecond), "250ms"},
		{Duration(3210 * time.Millisecond), "3.2s"}, {Duration(45 * time.Second), "45s"}, {Duration(130 * time.Second), "2m10s"}, {Duration(65 * time.Minute), "1h5m"},
		{Duration(59600 * time.Millisecond), "1m0s"}, {Duration(time.Hour - time.Millisecond), "1h0m"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

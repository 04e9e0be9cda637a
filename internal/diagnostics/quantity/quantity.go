// Package quantity formats numbers for people: counts, sizes, rates, durations.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count groups digits: 12,345.
func Count(n int64) string {
	if n < 0 {
		return "-" + Count(-max(n, -math.MaxInt64))
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Of counts things: 1 object, 2 objects.
func Of(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

// Bytes uses binary units: 6.3 KiB, 120 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), -1
	for v >= 1023.5 && unit < len("KMGTPE")-1 {
		v /= 1024
		unit++
	}
	return threeDigits(v) + " " + "KMGTPE"[unit:unit+1] + "iB"
}

// Rate shows small rates with a decimal: 0.3, 12, 4,100.
func Rate(perSecond float64) string {
	if perSecond >= 999.5 {
		return Count(int64(perSecond + 0.5))
	}
	return threeDigits(perSecond)
}

func threeDigits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Duration is short: 0s, 250ms, 3.2s, 45s, 2m10s, 1h5m.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < 0:
		return "-" + Duration(-max(d, -math.MaxInt64))
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute-time.Second/2:
		return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) + "s"
	case d < time.Hour-time.Second/2:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
}

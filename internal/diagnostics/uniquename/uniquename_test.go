package uniquename

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNoNameIsGivenOutTwice(t *testing.T) {
	var n Names
	var got []string
	for _, name := range strings.Split("pods pods pods#2 nodes pods pods#2 pods#2#2  ", " ") {
		got = append(got, n.Of(name))
	}
	want := "pods pods#2 pods#2#2 nodes pods#3 pods#2#3 pods#2#2#2  #2"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("\n got %s\nwant %s", text, want)
	}
}

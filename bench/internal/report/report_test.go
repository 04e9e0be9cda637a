package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAResultIsTheMediansAndTheirRatio(t *testing.T) {
	runs := []map[string]float64{{"ns": 3}, {"other": 1}, {"ns": 1}, {"ns": 2}}
	r := Of("row", "what", "ns", []float64{8}, Each(runs, "ns"))
	if r.Peer != 8 || r.Kinglet != 2 || r.Ratio != 0.25 || len(r.AllKinglet) != 3 {
		t.Errorf("%+v", r)
	}
	if alone := Of("row", "what", "ns", nil, []float64{2}); alone.Ratio != 0 || alone.AllPeer != nil {
		t.Errorf("without a peer %+v", alone)
	}
}

func TestATableHasALineForEachResultAndCountsTheShortOnes(t *testing.T) {
	var b strings.Builder
	short, alone := Of("a", "x", "ns", []float64{8}, []float64{2}), Of("b", "y", "B", nil, []float64{0.005})
	short.Target, short.Met = "≤ 1/8", "SHORT"
	Print(&b, "client-go", []Result{short, alone})
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		"row figure client-go kinglet unit kinglet is target", "a x 8.00 2.00 ns 1/4 ≤ 1/8 SHORT", "b y - 0.00500 B", "", "1 targets short", "",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

func TestAReportIsWrittenWhereItIsAskedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := WriteJSON(file, []Result{{Row: "a"}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	var got []Result
	if err != nil || json.Unmarshal(b, &got) != nil || len(got) != 1 || got[0].Row != "a" {
		t.Errorf("%s, %v", b, err)
	}
	if err := WriteJSON("", nil); err != nil {
		t.Error(err)
	}
}

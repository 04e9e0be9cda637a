package main

import (
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestCommandsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, line := range []string{"dance", "stop", "stop etcd now", "churn", "churn fast", "compact all", "quit now",
		"backup", "backup ../b", "restore b", "restore b x", "restore .. 0"} {
		if answer, err := obey(t.Context(), nil, strings.Fields(line)); err == nil {
			t.Errorf("%q is answered with %+v", line, answer)
		}
	}
	if answer, err := obey(t.Context(), nil, nil); err != nil || answer != (event{}) {
		t.Errorf("an empty line is answered with %+v, %v", answer, err)
	}
}

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range []string{"--nodes=-1", "--components=kube-proxy", "--churn=-1", "--churn=NaN", "more"} {
		cmd := newCommand(strings.NewReader(""), io.Discard, io.Discard)
		cmd.SetArgs(strings.Fields(args))
		if cmd.ExecuteContext(t.Context()) == nil {
			t.Errorf("%s is taken", args)
		}
	}
}

func TestTheVersionIsThatOfKubernetes(t *testing.T) {
	var out strings.Builder
	cmd := newCommand(strings.NewReader(""), &out, io.Discard)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(strings.TrimSpace(out.String()), "Kubernetes v")
	if _, err := version.ParseSemantic(text); err != nil {
		t.Errorf("%q: %v", out.String(), err)
	}
	if usage := cmd.UsageString(); strings.Count(usage, "--version") != 1 {
		t.Errorf("the help offers another --version:\n%s", usage)
	}
}

package main

import (
	"io"
	"strings"
	"testing"
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

package fielddiff

import (
	"slices"
	"strings"
)

// rank says how much a change tells a person; lower tells more.
type rank uint8

const (
	telling rank = iota // what kubectl get shows in its columns
	desired             // what somebody asked for
	observed
	other
	bookkeeping // changes along with the rest: times, generations
)

// rankOf judges by the path alone.
func rankOf(at string) rank {
	root, _, _ := strings.Cut(at, ".")
	leaf := at[strings.LastIndexAny(at, ".]")+1:]
	if leaf == "" && strings.HasSuffix(at, "]") {
		leaf = at[strings.LastIndexByte(at, '[')+1 : len(at)-1]
	}
	switch at {
	case "metadata.deletionTimestamp", "spec.nodeName", "spec.replicas", "status.replicas", "status.readyReplicas", "spec.unschedulable", "spec.suspend":
		return telling
	case "metadata.generation", "status.observedGeneration", "metadata.deletionGracePeriodSeconds":
		return bookkeeping
	}
	if root == "status" && (leaf == "phase" || leaf == "ready" || leaf == "restartCount") {
		return telling
	}
	if isConditionStatus(at) {
		return telling
	}
	if root != "spec" && (strings.HasSuffix(leaf, "Time") || strings.HasSuffix(leaf, "Timestamp") ||
		strings.HasSuffix(leaf, "At") || leaf == "observedGeneration") {
		return bookkeeping
	}
	switch root {
	case "spec":
		return desired
	case "status":
		if leaf == "message" || leaf == "reason" {
			return other
		}
		return observed
	}
	return other
}

func isConditionStatus(at string) bool {
	return strings.HasPrefix(at, "status.conditions[") && strings.HasSuffix(at, "].status")
}

// ranked returns the changes with the most telling ones first, otherwise in
// the order given.
func ranked(changes []Change) []Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b Change) int { return int(rankOf(a.Path)) - int(rankOf(b.Path)) })
	return out
}

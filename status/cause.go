package status

import "github.com/kinglet-go/kinglet/internal/diagnostics/trouble"

// Cause names what is wrong. The constants below are all causes.
type Cause string

// Causes that CauseOf finds in errors.
const (
	// CauseForbidden: the server knows who asks, and refuses (403).
	CauseForbidden Cause = "forbidden"
	// CauseUnauthorized: the server does not accept the credentials (401).
	CauseUnauthorized Cause = "unauthorized"
	// CauseNotFound: the server has no such resource (404), as when its
	// definition was deleted.
	CauseNotFound Cause = "not_found"
	// CauseInvalidRequest: the server refuses what is asked (400, 405, 406, 415, 422).
	CauseInvalidRequest Cause = "invalid_request"
	// CauseUnreachable: there is no connection, or it broke.
	CauseUnreachable Cause = "unreachable"
	// CauseCertificate: the server's certificate is not trusted.
	CauseCertificate Cause = "certificate"
	// CauseCredentials: the client could not obtain its credentials.
	CauseCredentials Cause = "credentials"
	// CauseThrottled: the server limits the rate of requests (429).
	CauseThrottled Cause = "throttled"
	// CauseServerError: the server fails (5xx).
	CauseServerError Cause = "server_error"
	// CauseExpired: the server no longer has the version to resume from (410).
	CauseExpired Cause = "expired"
	// CauseRestored: the server was restored from a backup, or has new numbering.
	CauseRestored Cause = "restored"
	// CauseLimit: there is more than an option allows.
	CauseLimit Cause = "limit"
	// CauseMalformed: an answer could not be read.
	CauseMalformed Cause = "malformed"
	// CauseStalled: nothing arrives on a connection on which something should.
	CauseStalled Cause = "stalled"
	// CauseShortWatch: watches end as soon as they begin.
	CauseShortWatch Cause = "short_watch"
	// CauseProtocol: the server breaks the protocol.
	CauseProtocol Cause = "protocol"
	// CauseError: any other error.
	CauseError Cause = "error"
)

// Causes without an error.
const (
	// CauseNotSynced: the store does not hold a first list yet.
	CauseNotSynced Cause = "not_synced"
	// CauseRelisting: everything is being listed again.
	CauseRelisting Cause = "relisting"
	// CauseStopped: the informer has ended.
	CauseStopped Cause = "stopped"
	// CauseSilent: a watch is silent for longer than the server's bookmark interval.
	CauseSilent Cause = "silent"
	// CauseDegraded: the store may differ from the version that it names.
	CauseDegraded Cause = "degraded"
	// CauseQuarantine: objects could not be decoded or stored.
	CauseQuarantine Cause = "quarantine"
	// CauseBudget: there is no room for whole objects.
	CauseBudget Cause = "budget"
	// CauseInconsistent: a consistency check found differences.
	CauseInconsistent Cause = "inconsistent"
	// CauseNotChecked: consistency checks cannot compare anything.
	CauseNotChecked Cause = "not_checked"
	// CauseMutated: the program wrote into stored objects.
	CauseMutated Cause = "mutated"
	// CauseUnconfirmedWrites: the watch has not shown the program's own writes.
	CauseUnconfirmedWrites Cause = "unconfirmed_writes"
	// CauseReadPath: objects are not read by the fast decoder, although the program
	// wants that.
	CauseReadPath Cause = "read_path"
	// CauseHandlerStalled: a handler does not return from a call.
	CauseHandlerStalled Cause = "handler_stalled"
	// CauseHandlerBehind: changes wait for a handler that does return.
	CauseHandlerBehind Cause = "handler_behind"
	// CauseHandlerPanics: a handler panicked.
	CauseHandlerPanics Cause = "handler_panics"
	// CauseHandlerEnded: a handler's registration has ended with an error.
	CauseHandlerEnded Cause = "handler_ended"
	// CauseGateClosed: a controller's runs may not begin.
	CauseGateClosed Cause = "gate_closed"
	// CauseGateEnded: a controller's runs can begin no more, since an informer that it
	// watches has ended.
	CauseGateEnded Cause = "gate_ended"
	// CauseQueueBehind: keys wait for a controller's workers.
	CauseQueueBehind Cause = "queue_behind"
	// CauseRunStalled: a run of a controller does not return.
	CauseRunStalled Cause = "run_stalled"
	// CauseFailingKeys: keys failed when they last ran.
	CauseFailingKeys Cause = "failing_keys"
	// CauseHotKeys: keys run again and again.
	CauseHotKeys Cause = "hot_keys"
	// CauseUnmapped: changes could not be mapped to keys.
	CauseUnmapped Cause = "unmapped"
	// CauseRunPanics: runs of a controller panicked.
	CauseRunPanics Cause = "run_panics"
)

// Causes returns all causes, those of errors first.
func Causes() []Cause {
	all := make([]Cause, 0, 64)
	for k := range trouble.Kinds {
		all = append(all, Cause(trouble.Kind(k).String()))
	}
	return append(all, CauseNotSynced, CauseRelisting, CauseStopped, CauseSilent, CauseDegraded,
		CauseQuarantine, CauseBudget, CauseInconsistent, CauseNotChecked, CauseMutated, CauseUnconfirmedWrites, CauseReadPath,
		CauseHandlerStalled, CauseHandlerBehind, CauseHandlerPanics, CauseHandlerEnded,
		CauseGateClosed, CauseGateEnded, CauseQueueBehind, CauseRunStalled, CauseFailingKeys, CauseHotKeys, CauseUnmapped, CauseRunPanics)
}

// CauseOf returns the cause of an error that an informer reports or shows; CauseError
// for an unknown one. err must not be nil.
func CauseOf(err error) Cause { return Cause(trouble.Classify(err).String()) }

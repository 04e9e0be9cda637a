package trouble

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noAnswer is how client-go hands on that a request got no answer.
func noAnswer(err error) error {
	return &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods?limit=500", Err: err}
}

var pods = schema.GroupResource{Resource: "pods"}

func forbidden(words string) error { return apierrors.NewForbidden(pods, "", errors.New(words)) }

func TestEachErrorHasItsKindWhatIsWrongAndWhatToDo(t *testing.T) {
	const everywhere = `User "system:serviceaccount:shop:reader" cannot list resource "pods" in API group "" at the cluster scope`
	for _, c := range []struct {
		err      error
		kind     Kind
		lasting  bool
		what, do string // do has to contain this
	}{
		{forbidden(everywhere), Forbidden, true, "forbidden (403): " + everywhere,
			"grant list and watch on pods to system:serviceaccount:shop:reader (a ClusterRole and a ClusterRoleBinding)"},
		{forbidden(`User "ann" cannot watch resource "deployments" in API group "apps" in the namespace "shop"`), Forbidden, true,
			`forbidden (403): User "ann" cannot watch resource "deployments" in API group "apps" in the namespace "shop"`,
			"grant list and watch on deployments.apps to ann in namespace shop (a Role and a RoleBinding); until then kinglet lists every 30 to 60 s"},
		{forbidden("no RBAC policy matched"), Forbidden, true, "forbidden (403): no RBAC policy matched", "grant list and watch on widgets to this program's user"},
		{apierrors.NewUnauthorized("Unauthorized"), Unauthorized, true, "the server does not accept the credentials (401)", "renew"},
		{apierrors.NewGenericServerResponse(404, "list", pods, "", "", 0, true), NotFound, true, "the server has no such resource (404)", "definition of widgets"},
		{apierrors.NewBadRequest("field label not supported"), Invalid, true, "the server refuses the request (400): field label not supported", "selectors"},
		{apierrors.NewTooManyRequests("slow down", 3), Throttled, false, "the server is busy (429): slow down", "priority_and_fairness"},
		{apierrors.NewInternalError(errors.New("etcd is away")), Server, false, "the server fails (500): Internal error occurred: etcd is away", "etcd"},
		{apierrors.NewServiceUnavailable("starting"), Server, false, "the server fails (503): starting", "log"},
		{apierrors.NewResourceExpired("too old resource version: 1 (100)"), Expired, false, "the server no longer has the version (410): too old resource version: 1 (100)", "lists again"},
		{noAnswer(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), Unreachable, false, "no connection to the server: connection refused", "network policy"},
		{noAnswer(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.example.com"}}), Unreachable, false, "no connection to the server: unknown host api.example.com", "DNS"},
		{noAnswer(x509.UnknownAuthorityError{}), Untrusted, true, "the certificate of the server is not trusted: x509: certificate signed by unknown authority", "ca.crt"},
		{noAnswer(errors.New("getting credentials: exec: executable aws not found\n\nIt looks")), Login, true, "no credentials: exec: executable aws not found It looks", "users"},
		{errors.New("stream error: stream ID 5; INTERNAL_ERROR; received from peer"), Unreachable, false, "no connection to the server: stream error: stream ID 5; INTERNAL_ERROR; received from peer", ""},
		{io.ErrUnexpectedEOF, Unreachable, false, "no connection to the server: it was closed in the midst of an answer (unexpected EOF)", "load balancer"},
		{noAnswer(io.EOF), Unreachable, false, "no connection to the server: it was closed without an answer (EOF)", "load balancer"},
		{context.DeadlineExceeded, Unreachable, false, "no connection to the server: context deadline exceeded", "reaches"},
		{&reflector.LimitError{Option: "MaxObjects", Limit: 10, Reached: 11}, Limit, true, "at least 11 objects, more than the limit of 10 that the option MaxObjects sets", "raise Options.MaxObjects"},
		{&source.TooLargeError{Bytes: 11, Limit: 10}, Limit, true, (&source.TooLargeError{Bytes: 11, Limit: 10}).Error(), "raise MaxObjectBytes"},
		{&source.ItemError{Stage: source.StageDecode, Key: store.Key{Name: "x"}, Err: io.EOF}, Malformed, false, "", "kubectl get --raw"},
		{source.ErrNoStatus, Malformed, false, source.ErrNoStatus.Error(), "on the way"},
		{reflector.ErrRestored, Restored, false, reflector.ErrRestored.Error(), "after the backup"},
		{reflector.ErrStalled, Stalled, false, reflector.ErrStalled.Error(), "passes nothing on"},
		{reflector.ErrShortWatch, ShortWatch, false, reflector.ErrShortWatch.Error(), "ends watches at once"},
		{reflector.ErrOlderThanStore, Protocol, false, reflector.ErrOlderThanStore.Error(), "behind the others"},
		{reflector.ErrTruncated, Protocol, false, reflector.ErrTruncated.Error(), "ends answers early"},
		{reflector.ErrUnreadable, Malformed, false, reflector.ErrUnreadable.Error(), "on the way"},
		{errors.New("what\nis this"), Other, false, "what is this", "read the error"},
	} {
		t.Run(c.kind.String()+" "+c.what, func(t *testing.T) {
			// As an informer shows it.
			err := error(&reflector.Error{Name: "widgets", Source: "widgets", Verb: "list", Err: c.err})
			kind := Classify(err)
			if kind != c.kind || kind.Lasting() != c.lasting {
				t.Fatalf("is %v, lasting %v; want %v, %v", kind, kind.Lasting(), c.kind, c.lasting)
			}
			if got := Describe(kind, err, Peer{}); !strings.HasSuffix(got, c.what) {
				t.Errorf("\n got %s\nwant %s", got, c.what)
			}
			if got := Remedy(kind, err, "widgets"); !strings.Contains(got, c.do) {
				t.Errorf("\n got %s\nwant %s", got, c.do)
			}
		})
	}
}

func TestThePeerIsNamedWhereItIsKnown(t *testing.T) {
	p := Peer{Server: "https://10.0.0.1:6443", User: "ann"}
	for err, want := range map[error]string{
		apierrors.NewUnauthorized("no"):                   `the server does not accept the credentials of user "ann" (401)`,
		noAnswer(syscall.ECONNREFUSED):                    `no connection to https://10.0.0.1:6443: connection refused`,
		noAnswer(errors.New("getting credentials: none")): `no credentials of user "ann": none`,
	} {
		if got := Describe(Classify(err), err, p); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kinds {
		name := Kind(k).String()
		if name == "" || Kind(k).Short() == "" || seen[name] || strings.ContainsAny(name, " -") {
			t.Errorf("kind %d is called %q, in short %q", k, name, Kind(k).Short())
		}
		seen[name] = true
	}
}

func TestAStatusWithoutDetailsIsStillExplained(t *testing.T) {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden}}
	if got := Remedy(Classify(err), err, "nodes"); got != "grant list and watch on nodes to this program's user" {
		t.Error(got)
	}
}

// nilError is an error as a function returns it that declares its result as a pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestAnErrorWhoseTextPanicsIsShownAllTheSame(t *testing.T) {
	for _, err := range []error{(*nilError)(nil), noAnswer((*nilError)(nil)), &url.Error{Op: "Get"}, fmt.Errorf("list: %w", (*nilError)(nil))} {
		for _, err := range []error{err, &reflector.Error{Verb: "list", Err: err}} {
			kind := Classify(err)
			if Describe(kind, err, Peer{}) == "" || Remedy(kind, err, "pods") == "" || Line(err) == "" {
				t.Errorf("nothing is said of %#v", err)
			}
		}
	}
}

func TestForeignTextCannotSteerATerminalOrABrowser(t *testing.T) {
	long := strings.Repeat("é", maxRead)
	for text, want := range map[string]string{
		"a\x1b[2Jb":                           "a\uFFFD[2Jb",
		"a\x9b2Jb\xff":                        "a\uFFFD2Jb\uFFFD",
		"a\u009b2J":                           "a\uFFFD2J",
		"a\u202egpj.exe":                      "a\uFFFDgpj.exe",
		"\x00\x07":                            "\uFFFD\uFFFD",
		" two\n\tlines\r\n":                   "two lines",
		"naïve – 日本 “quoted” 😀":               "naïve – 日本 “quoted” 😀",
		long:                                  long[:2*(maxLine-1)] + "…",
		strings.Repeat(" ", maxRead) + "late": "…",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%.40q becomes %.80q, want %.80q", text, got, want)
		}
	}
}

func FuzzForeignTextIsKeptToOneLineOfBoundedLength(f *testing.F) {
	f.Add(strings.Repeat("very long\n", 1000))
	f.Add(`pods is forbidden: User "a" cannot`)
	f.Add("\x1b]0;title\x07 \u202e \xff")
	f.Add(`User "" cannot  resource "" in the namespace "`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{
			errors.New(text), forbidden(text), apierrors.NewBadRequest(text), noAnswer(errors.New(text)),
			fmt.Errorf("getting credentials: %s", text), &source.ItemError{Err: errors.New(text)},
		} {
			kind := Classify(err)
			for _, line := range []string{Describe(kind, err, Peer{}), Remedy(kind, err, "pods")} {
				if len([]rune(line)) > maxLine || Printable(line) != line {
					t.Errorf("%d characters: %q", len(line), line)
				}
			}
		}
	})
}

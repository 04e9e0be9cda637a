package trouble

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is how client-go hands on that a request got no answer.
func request(err error) error {
	return fmt.Errorf("list pods: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods?limit=500", Err: err})
}

func TestEveryTroubleSaysWhatIsWrongAndTheWayOut(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	subject := Subject{Resource: "pods", Namespaced: true, Server: "https://10.0.0.1:6443", User: "ann", Flags: "--context prod"}
	inNamespace := subject
	inNamespace.Namespace = "shop"
	for _, c := range []struct {
		name    string
		err     error
		subject Subject
		kind    trouble.Kind
		lasting bool
		want    string
	}{
		{
			"403 everywhere", fmt.Errorf("list pods: %w", apierrors.NewForbidden(pods, "", errors.New(`User "ann" cannot list resource "pods" in API group "" at the cluster scope`))),
			subject, trouble.Forbidden, true,
			`forbidden (403): User "ann" cannot list resource "pods" in API group "" at the cluster scope; check with: kubectl auth can-i list pods --all-namespaces --context prod (or try one namespace, with -n)`,
		},
		{
			"403 of the watch in a namespace", apierrors.NewForbidden(pods, "", errors.New(`User "ann" cannot watch resource "pods"`)),
			inNamespace, trouble.Forbidden, true,
			`forbidden (403): User "ann" cannot watch resource "pods"; check with: kubectl auth can-i watch pods -n shop --context prod`,
		},
		{
			"401", apierrors.NewUnauthorized("Unauthorized"), subject, trouble.Unauthorized, true,
			`the server does not accept the credentials of user "ann" (401); they may have expired: log in again; check with: kubectl auth whoami --context prod`,
		},
		{
			"404", apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "widgets"}, "", "", 0, true), subject, trouble.NotFound, true,
			`the server has no such resource (404); its definition may have been deleted; see: kubectl api-resources --context prod`,
		},
		{
			"400", apierrors.NewBadRequest(`field label not supported: spec.color`), subject, trouble.Invalid, true,
			`the server refuses the request (400): field label not supported: spec.color; check -l and --field-selector`,
		},
		{
			"429", apierrors.NewTooManyRequests("slow down", 3), subject, trouble.Throttled, false,
			`the server is busy (429): slow down; trying again`,
		},
		{
			"refused", request(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), subject, trouble.Unreachable, false,
			`no connection to https://10.0.0.1:6443: connection refused; is the cluster running, and --context the right one?`,
		},
		{
			"no such host", request(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.example.com"}}), subject, trouble.Unreachable, false,
			`no connection to https://10.0.0.1:6443: unknown host api.example.com; is the cluster running, and --context the right one?`,
		},
		{
			"an untrusted certificate", request(x509.UnknownAuthorityError{}), subject, trouble.Untrusted, true,
			`the certificate of https://10.0.0.1:6443 is not trusted: x509: certificate signed by unknown authority; the kubeconfig may be of another cluster; see certificate-authority there, or --certificate-authority`,
		},
		{
			"a program that gets credentials", request(errors.New("getting credentials: exec: executable aws not found\n\nIt looks like\nyou are trying")), subject, trouble.Login, true,
			`no credentials of user "ann": exec: executable aws not found It looks like you are trying; the kubeconfig gets them from a program, see its users`,
		},
		{"something else", errors.New("what\nis this"), subject, trouble.Other, false, `what is this`},
		{"timeout", fmt.Errorf("list pods: %w", context.DeadlineExceeded), subject, trouble.Unreachable, false,
			`no connection to https://10.0.0.1:6443: list pods: context deadline exceeded; is the cluster running, and --context the right one?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Explain(c.err, c.subject)
			if got.Kind != c.kind || got.Lasting() != c.lasting {
				t.Errorf("got kind %q, lasting %v; want %q, %v", got.Short(), got.Lasting(), c.kind.Short(), c.lasting)
			}
			if got.Text != c.want {
				t.Errorf("\n got %s\nwant %s", got.Text, c.want)
			}
			if strings.ContainsAny(got.Text, "\n\r\t") {
				t.Error("more than one line")
			}
		})
	}
}

func TestNoPasswordOfAURLAndNoPartOfASecretIsShown(t *testing.T) {
	for _, text := range []string{`parse "https://ann:hunter2@host:x": invalid port`, `Get "https://ann:hun/ter2@host/api": no`, "to http://:hunter2@proxy failed", "https://a:x@hunter2@host"} {
		for _, got := range []string{OneLine(text), Explain(errors.New(text), Subject{}).Text} {
			if strings.Contains(got, "hun") {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
	if got := OneLine("https://host:6443/a b@c"); got != "https://host:6443/a b@c" {
		t.Error(got)
	}
	if got := Explain(fmt.Errorf("json: cannot unmarshal hunter2"), Subject{Resource: "secrets", Secret: true}).Text; strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

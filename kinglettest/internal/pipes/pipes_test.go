package pipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestADialWaitsUntilItIsAcceptedAndFailsOnceTheListenerIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		dialed := make(chan error, 1)
		go func() {
			c, err := l.Dial(t.Context(), "", "")
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			dialed <- err
		}()
		synctest.Wait()
		select {
		case err := <-dialed:
			t.Fatal("not accepted, and dialed:", err)
		default:
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		if _, err := c.Read(b); err != nil || <-dialed != nil || b[0] != 'x' {
			t.Errorf("read %q: %v", b, err)
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		if _, err := l.Dial(context.Background(), "", ""); !errors.Is(err, ErrRefused) {
			t.Errorf("after Close: %v", err)
		}
		if _, err := l.Accept(); err == nil {
			t.Error("accepts after Close")
		}
	})
}

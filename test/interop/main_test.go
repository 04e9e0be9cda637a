package interop

import (
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
)

// tokenFile is the variable that makes the test program a credential plugin,
// which prints the token in that file, as client-go's exec providers do.
const tokenFile = "INTEROP_TOKEN_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(tokenFile); file != "" {
		os.Exit(printCredential(file))
	}
	goleak.VerifyTestMain(m)
}

func printCredential(file string) int {
	token, err := os.ReadFile(file)
	if err != nil {
		return 1
	}
	err = json.NewEncoder(os.Stdout).Encode(clientauthentication.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthentication.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthentication.ExecCredentialStatus{Token: string(token)},
	})
	if err != nil {
		return 1
	}
	return 0
}

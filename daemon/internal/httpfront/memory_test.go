package httpfront

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// slow is a client that notes how much memory is taken while it reads an answer.
type slow struct {
	http.ResponseWriter
	memory *budget.Budget
	taken  int64
}

func (s *slow) Write(text []byte) (int, error) {
	s.taken = max(s.taken, s.memory.Used())
	return s.ResponseWriter.Write(text)
}

// read answers a request, and returns how much memory is taken while the answer is read.
func (f fixture) read(r *http.Request) (*httptest.ResponseRecorder, int64) {
	w := httptest.NewRecorder()
	client := &slow{ResponseWriter: w, memory: f.Handler.Memory}
	f.ServeHTTP(client, r)
	return w, client.taken
}

func TestAnswersOfThePageAndMetricsTakeFromTheMemoryUntilTheyAreRead(t *testing.T) {
	f := newFixture(t, "")
	for _, address := range []string{"/", "/ui/state", "/ui/history", "/ui/plan?years=10&workers=4&rate=1", "/ui/decode?id=1", "/metrics"} {
		f.Handler.Memory = budget.New(8 << 20)
		w, taken := f.read(request("GET", address))
		if w.Code != http.StatusOK || taken < int64(w.Body.Len()) || f.Handler.Memory.Used() != 0 {
			t.Errorf("%s: %d, %d bytes are taken for %d, and %d after it", address, w.Code, taken, w.Body.Len(), f.Handler.Memory.Used())
		}
		f.Handler.Memory = budget.New(256 << 10) // others may have the last quarter
		wantProblem(t, f.do(request("GET", address)), http.StatusServiceUnavailable, "overloaded")
		if used := f.Handler.Memory.Used(); used != 0 {
			t.Errorf("%s: %d bytes are taken after it was refused", address, used)
		}
	}
}

func TestFilesOfThePageTakeNoMemory(t *testing.T) {
	f := newFixture(t, "")
	f.Handler.Memory = budget.New(1)
	for _, address := range []string{"/ui/uplot/uPlot.esm.js", "/ui/runbook", "/openapi.yaml"} {
		if w, taken := f.read(request("GET", address)); w.Code != http.StatusOK || taken != 0 {
			t.Errorf("%s: %d, %d bytes are taken for %d", address, w.Code, taken, w.Body.Len())
		}
	}
}

func TestProbesAreAnsweredWithoutMemory(t *testing.T) {
	m, minters := new(counting), map[string]kind.Minter{}
	settings := fronttest.Settings(t, func(c *config.Config) {
		c.Generators = map[string]config.Generator{}
		for i := range 20 {
			name := "g" + strconv.Itoa(i)
			c.Generators[name], minters[name] = config.Generator{}, m
		}
	})
	f := fixture{Handler: newHandler(fronttest.Service(t, service.Config{Settings: settings}, minters))}
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		f.Handler.Memory = nil
		if w := f.do(request("GET", "/readyz")); w.Body.Len() < few {
			t.Fatalf("the list is too short for this test: %s", w.Body)
		}
		f.Handler.Memory = budget.New(1)
		if w, taken := f.read(request("GET", "/readyz")); w.Code != status || taken != 0 || w.Body.Len() > few {
			t.Errorf("%d, %d bytes are taken for %s", w.Code, taken, w.Body)
		}
		m.ready = io.ErrUnexpectedEOF
	}
}

func TestAnswersRepeatLittleOfALongRequest(t *testing.T) {
	f := newFixture(t, "")
	long := strings.Repeat("%22", 5000)
	for _, r := range []*http.Request{
		request("GET", "/v1/generators?"+long+"=1"),
		request("GET", "/v1/generators/default/ids?count=1&show="+long),
		request("GET", "/v1/generators/default/ids?count="+long),
		request("GET", "/v1/generators/default/ids?show="+long),
		request("GET", "/v1/generators/"+long+"/ids"),
		request("GET", "/v1/decode/"+long),
		request("GET", "/v1/decode/1?layout="+long),
		request("GET", "/v1/decode/1?generator="+long),
		request("POST", "/v1/generators/default/reservations?key="+long),
		request("GET", "/ui/plan?years="+long+"&workers=1&rate=1"),
		request("GET", "/ui/decode?id=1&generator="+long),
		request("GET", "/ui/workers?from="+long),
		request("GET", "/api/segment/get/"+long),
		request("GET", "/decodeSnowflakeId?snowflakeId="+long),
		request("GET", "/tinyid/id/nextId?bizType="+long),
		request("GET", "/tinyid/id/nextId?bizType=default&batchSize="+long),
		request("GET", "/readyz/"+long),
		request("GET", "/"+long),
		request("GET", "/v1/generators", "Host: "+strings.Repeat("<", 10_000)),
		request("GET", "/v1/generators", "Sec-Fetch-Site: "+strings.Repeat("<", 10_000)),
	} {
		if w := f.do(r); w.Body.Len() > few {
			t.Errorf("%.60s: %d, %d bytes", r.RequestURI, w.Code, w.Body.Len())
		}
	}
}

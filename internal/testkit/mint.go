package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"snowfence.example/snowfence"
)

// Mint asks a daemon's generator for n ids and appends those that arrive. When
// the daemon dies in the middle of its answer, the ids that came whole are
// appended all the same, since they are issued, and the error says why there
// are no more.
func Mint(ctx context.Context, client *http.Client, url, generator string, n int, ids []snowfence.ID) ([]snowfence.ID, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/v1/generators/%s/ids?count=%d", url, generator, n), nil)
	if err != nil {
		return ids, err
	}
	request.Header.Set("Accept", "text/plain")
	response, err := client.Do(request)
	if err != nil {
		return ids, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		problem, err := io.ReadAll(io.LimitReader(response.Body, 4096))
		return ids, errors.Join(fmt.Errorf("status %s: %s", response.Status, problem), err)
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return ids, nil
		}
		if err != nil {
			return ids, fmt.Errorf("read ids: %w", err)
		}
		id, err := snowfence.Parse(string(line[:len(line)-1]))
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
}

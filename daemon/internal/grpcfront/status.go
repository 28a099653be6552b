package grpcfront

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"snowfence.example/snowfence/daemon/internal/front"
)

// codeOf returns gRPC's code of a meaning.
func codeOf(meaning front.Meaning) codes.Code {
	return [...]codes.Code{
		front.Invalid: codes.InvalidArgument, front.Unauthorized: codes.Unauthenticated, front.Forbidden: codes.PermissionDenied,
		front.NotFound: codes.NotFound, front.Conflict: codes.FailedPrecondition, front.TooMany: codes.ResourceExhausted,
		front.Unavailable: codes.Unavailable, front.Cancelled: codes.Canceled, front.Broken: codes.Internal,
	}[meaning]
}

// reason is a problem's type in the form of google.rpc.ErrorInfo: COUNT_OUT_OF_RANGE.
func reason(t front.Type) string {
	return strings.ToUpper(strings.ReplaceAll(t.String(), "-", "_"))
}

// fail translates an error, and counts it if it is a problem. An error with a status comes from gRPC
// itself, such as the end of a stream that its client has left.
func (s *Server) fail(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok && !errors.As(err, new(*front.Problem)) {
		return err
	}
	p := front.ProblemOf(err)
	s.config.Meter.Failed(p.Type.String())
	return statusOf(p)
}

// statusOf returns a problem as a status with its details.
func statusOf(p *front.Problem) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason(p.Type), Domain: "snowfence.example"}}
	if p.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(p.RetryAfter)})
	}
	if p.Field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: p.Field, Description: p.Detail}}})
	}
	plain := status.New(codeOf(p.Type.Meaning()), p.Detail)
	if detailed, err := plain.WithDetails(details...); err == nil {
		return detailed.Err()
	}
	return plain.Err() // never: these details can be encoded
}

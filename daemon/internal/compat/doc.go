// Package compat answers the HTTP paths of two other systems, as their own servers do, so that their
// clients stay as they are. The HTTP front has them in its table of routes.
//
// Of Meituan's Leaf, where the key is a generator's name:
//
//	/api/snowflake/get/{key}           an id of a generator of kind snowflake, as bare decimal
//	/api/segment/get/{key}             a number of a generator that counts, as bare decimal
//	/decodeSnowflakeId?snowflakeId=    the parts of an id
//	/cache, /db                        for operators: the segments, and the rows of leaf_alloc
//
// An error is Leaf's: status 500, and a Result whose id is the reason. -1: not ready. -2: unknown key,
// also of the other path's kind. -3: no numbers at present, or an unsafe clock.
//
// Of Didi's tinyid, where bizType is a generator's name, and token one of this server's tokens:
//
//	/tinyid/id/nextId           {"data":[2],"code":200,"message":""}
//	/tinyid/id/nextIdSimple     2,3,4
//	/tinyid/id/nextSegmentId    a whole segment, of kind segment, leaf-segment or tinyid
//
// Errors have status 200, and code 5 for the token or 6. The Simple forms then have no body, and the log
// has the reason. A batch that is too large is cut to the limit of one request.
//
// GET, POST, PUT, PATCH and DELETE all ask for numbers, as there. Every other method is refused.
//
// A POST, PUT or PATCH may have its parameters as a form. The query's parameters come first.
//
// Both systems run on Spring Boot 1.5, and paths and types follow its rules: a slash or .json may stand
// at the end of a path, and ;jsessionid=1 in it. A bare number has the type that Accept asks for,
// text/plain if it takes all. A body of JSON, whose type is not negotiated, is JSON whatever is asked
// for.
//
// The HTTP front's own answer is for cases that neither system has: a token of Leaf's clients, a rate, a
// page of another site.
package compat

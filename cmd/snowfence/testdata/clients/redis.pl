use strict;
use warnings;
use Redis;

# TestClientsConverse describes what every conversation does.
my ($url, $ca, $n) = @ARGV;
my ($token, $server) = $url =~ m{//:(.*)\@(.*)};

my $ids = Redis->new(server => $server, password => $token, name => 'teller', reconnect => 60);
$ids->select(0);
print 'name: ', $ids->client_getname, "\n";

my @pipelined;
$ids->incr('orders', sub { push @pipelined, $_[0] }) for 1 .. $n;
$ids->wait_all_responses;
print "pipelined: @pipelined\n";

my $next = 'ID.NEXT';
print "batch: @{$ids->$next('orders', 'COUNT', 1000)}\n";

eval { $ids->incr('nosuch') } or print "unknown: $@" =~ s/\n.*//sr, "\n";
eval { Redis->new(server => $server, password => "not-$token") } or print "refused: $@" =~ s/\n.*//sr, "\n";

print "cut:\n";
$| = 1;
print '';
<STDIN>;
print 'again: ', $ids->incr('orders'), "\n";

<?php
// TestClientsConverse describes what every conversation does.
require 'Predis/autoload.php';
[, $url, $ca, $n] = $argv;
$place = parse_url($url);

function connect(array $place, string $ca, string $token): Predis\Client
{
    $scheme = $ca ? ['scheme' => 'tls', 'ssl' => ['cafile' => $ca]] : [];
    return new Predis\Client($scheme + ['host' => $place['host'], 'port' => $place['port'], 'password' => $token, 'database' => 0]);
}

$ids = connect($place, $ca, $place['pass']);
$ids->client('setname', 'teller');
echo 'name: ', $ids->client('getname'), "\n";

$numbers = $ids->pipeline(function ($pipeline) use ($n) {
    for ($i = 0; $i < $n; $i++) {
        $pipeline->incr('orders');
    }
});
echo 'pipelined: ', implode(' ', $numbers), "\n";

echo 'batch: ', implode(' ', $ids->executeRaw(['ID.NEXT', 'orders', 'COUNT', 1000])), "\n";

try {
    $ids->incr('nosuch');
} catch (Predis\Response\ServerException $e) {
    echo 'unknown: ', $e->getMessage(), "\n";
}

try {
    connect($place, $ca, 'not-' . $place['pass'])->incr('orders');
} catch (Predis\PredisException $e) {
    echo 'refused: ', $e->getMessage(), "\n";
}

echo "cut:\n";
fgets(STDIN);
try {
    $ids->incr('orders');
} catch (Predis\Connection\ConnectionException $e) {
    echo 'broken: ', $e->getMessage(), "\n"; // the next call connects again
}
echo 'again: ', $ids->incr('orders'), "\n";

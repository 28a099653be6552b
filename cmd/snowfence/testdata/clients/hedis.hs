{-# LANGUAGE OverloadedStrings #-}
-- TestClientsConverse describes what every conversation does.
import Control.Exception (SomeException, try)
import Control.Monad (replicateM)
import Data.ByteString (ByteString)
import qualified Data.ByteString.Char8 as B
import Database.Redis
import System.Environment (getArgs)
import System.IO

say :: String -> [String] -> IO ()
say what texts = putStrLn (what ++ ": " ++ unwords texts) >> hFlush stdout

main :: IO ()
main = do
  [url, _, n] <- getArgs
  let Right info = parseConnectInfo url
  ids <- checkedConnect info
  runRedis ids (sendRequest ["CLIENT", "SETNAME", "teller"] :: Redis (Either Reply Status))
  Right name <- runRedis ids (sendRequest ["CLIENT", "GETNAME"])
  say "name" [B.unpack name]

  numbers <- runRedis ids (replicateM (read n) (incr "orders"))
  say "pipelined" [show id | Right id <- numbers]

  Right batch <- runRedis ids (sendRequest ["ID.NEXT", "orders", "COUNT", "1000"])
  say "batch" (map B.unpack batch)

  Left (Error unknown) <- runRedis ids (incr "nosuch")
  say "unknown" [B.unpack unknown]

  refused <- try (checkedConnect info {connectAuth = Just "not-it"}) :: IO (Either ConnectError Connection)
  say "refused" [either show (const "") refused]

  say "cut" []
  _ <- getLine
  broken <- try (runRedis ids (incr "orders")) :: IO (Either SomeException (Either Reply Integer))
  either (\e -> say "broken" [show e]) (const (return ())) broken
  Right again <- runRedis ids (incr "orders")
  say "again" [show again]
